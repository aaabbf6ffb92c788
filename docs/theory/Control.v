(** The instance, continued: branches and loops over terms, and the whole table, which is sound.
    docs/theory.md, "One theorem"; absint/shapes/branches.py, absint/shapes/loops. *)

From Coq Require Import List ZArith Lia Bool.
Import ListNotations.
From Absint Require Import Programs Memo Analysis Terms.

Set Implicit Arguments.
Local Open Scope Z_scope.

Definition visible before (s : symbol) :=
  match s with
  | Input _ => true
  | Own n _ => existsb (Nat.eqb n) before
  | Hole _ => false
  end.

Lemma visible_is_known before s : visible before s = true <-> known before s.
Proof.
  destruct s as [x | n t | t]; simpl; [tauto | | split; [discriminate | contradiction]].
  rewrite existsb_exists. split; [intros (m & inside & <-%Nat.eqb_eq); exact inside |].
  intro inside. exists n. rewrite Nat.eqb_refl. auto.
Qed.

(** Each axis gets a number of its own, and terms that survive say what it is. *)
Definition own_axes (ds : list dim) : list dim := map (fun i => fresh (Axis i)) (seq 0 (length ds)).
Definition axes_are among (nu' : valuation) ds (nu : valuation) :=
  forall i t, nth_error ds i = Some (Known t) -> within among t = true -> nu (Hole (Axis i)) = number nu' t.

(** The join keeps what both branches give and the scope knows. *)
Fixpoint joined before i ds es :=
  match ds, es with
  | d :: ds, e :: es =>
      match d, e with
      | Known s, Known t => if term_eq s t then if within (visible before) s then d else fresh (Axis i) else fresh
          (Axis i)
      | _, _ => fresh (Axis i)
      end :: joined before (S i) ds es
  | _, _ => []
  end.
Definition join (before : list nat) (c a b : state) : summary terms :=
  match a, b with
  | Tensor ds _, Tensor es _ =>
      if Nat.eqb (length ds) (length es) then tensor (joined before 0 ds es) nothing nothing else unknown
  | _, _ => unknown
  end.

(** The head: what it is in the first trip, and what the trip before made of it. *)
Definition earlier h (nu : valuation) : valuation :=
  fun s => if symbol_eq s (Own h Trip) then nu (Hole Trip) - 1 else nu s.
Definition over before h s := visible before s || if symbol_eq s (Own h Trip) then true else false.
Definition at_head before h (a b : state) : summary terms :=
  match a, b with
  | Tensor ds _, Tensor es _ =>
      if Nat.eqb (length ds) (length es) then
        tensor (own_axes ds) nothing (fun nu => 0 <= nu (Hole Trip) /\
          (nu (Hole Trip) = 0 -> axes_are (visible before) nu ds nu) /\
          (1 <= nu (Hole Trip) -> axes_are (over before h) (earlier h nu) es nu))
      else unknown
  | _, _ => unknown
  end.

(** The exit: what the head is after the last trip; there are no more trips than the limit says. *)
Definition at_last h (nu : valuation) : valuation :=
  fun s => if symbol_eq s (Own h Trip) then nu (Hole Trips) else nu s.
Definition at_exit before (p : ports nat) (s : nat -> state) : summary terms :=
  match s (head p) with
  | Tensor ds _ =>
      tensor (own_axes ds) nothing (fun nu => 0 <= nu (Hole Trips) /\
        (forall t, s (limit p) = Tensor [] (Known t) -> within (visible before) t = true ->
          nu (Hole Trips) <= Z.max 0 (number nu t)) /\
        axes_are (over before (head p)) (at_last (head p) nu) ds nu)
  | _ => unknown
  end.

Definition given (F : valuation -> Prop) c b nu := F nu /\ exists v, means nu c v /\ decides v b.
Definition in_trip h (F : valuation -> Prop) m nu :=
  F nu /\ forall t, m = Tensor [] (Known t) -> nu (Own h Trip) < number nu t.

Definition rules : table operator terms :=
  Build_table (operator := operator) (D := terms) (fun F : valuation -> Prop => F) (fun _ => rule) (fun _ _ _ => false)
    given in_trip (fun before _ => join before) (fun before _ => at_head before) (fun before _ => at_exit before).

Lemma own_axes_mean nu v k ds : Forall2 (is_size (fill nu v k)) ds (sizes v) ->
  means (fill nu v k) (Tensor (own_axes ds) (fresh Item)) v.
Proof.
  intro each. split; [| reflexivity]. unfold own_axes.
  replace (length ds) with (length (sizes v)) by (induction each; simpl; congruence). clear each.
  enough (H : forall i before ks, length before = i -> sizes v = before ++ ks ->
    Forall2 (is_size (fill nu v k)) (map (fun i => fresh (Axis i)) (seq i (length ks))) ks) by (apply (H 0%nat []);
      auto).
  intros i before ks. revert i before. induction ks as [| x ks IH]; intros i before is all; simpl; constructor.
  - simpl. rewrite all, app_nth2 by lia. now replace (i - length before)%nat with 0%nat by lia.
  - apply (IH (S i) (before ++ [x])); [rewrite app_length; simpl; lia | now rewrite <- app_assoc].
Qed.

Lemma axes_are_numbers among nu' ds v nu k :
  Forall2 (is_size nu') ds (sizes v) -> axes_are among nu' ds (fill nu v k).
Proof.
  intros each i t is _. simpl. revert is. generalize (sizes v) as ks, each. clear each. revert i.
  induction ds as [| d ds IH]; intros [| i] ks each; inversion each; subst; simpl; try discriminate; eauto.
  intros [= ->]. simpl in *. congruence.
Qed.

Lemma other_symbols among nu nu' ds mu :
  (forall s, among s = true -> nu' s = mu s) -> axes_are among nu' ds nu -> axes_are among mu ds nu.
Proof. intros same are i t is inside. rewrite (are i t is inside). now apply same_number with among. Qed.

Lemma joined_means before nu v k : forall ds es i ks,
  length ds = length es -> Forall2 (is_size (fill nu v k)) ds ks \/ Forall2 (is_size (fill nu v k)) es ks ->
  (forall j z, nth_error ks j = Some z -> fill nu v k (Hole (Axis (i + j))) = z) ->
  Forall2 (is_size (fill nu v k)) (joined before i ds es) ks.
Proof.
  induction ds as [| d ds IH]; intros [| e es] i ks same each axes; try discriminate.
  - destruct each as [each | each]; inversion each; constructor.
  - assert (exists z zs, ks = z :: zs /\ (is_size (fill nu v k) d z \/ is_size (fill nu v k) e z) /\
      (Forall2 (is_size (fill nu v k)) ds zs \/ Forall2 (is_size (fill nu v k)) es zs)) as (z & zs & -> & here & rest).
    { destruct each as [each | each]; inversion each; subst; eauto 8. }
    assert (axis := axes 0%nat z eq_refl). rewrite Nat.add_0_r in axis. simpl. constructor.
    + destruct d as [s |], e as [t |]; try exact axis.
      destruct (term_eq s t) as [<- |]; [| exact axis]. destruct (within (visible before) s); [| exact axis].
      simpl in here. simpl. tauto.
    + apply IH; auto. intros j x is. rewrite <- (axes (S j) x is). do 2 f_equal. f_equal. lia.
Qed.

Theorem rules_are_a_sound_table : sound_table Trip Trips rules semantics.
Proof.
  split; simpl.
  - intros nu [| [| d ds] [t |]] v b meant decided said; simpl in *; try contradiction.
    destruct meant as [_ is]. unfold decides in decided. rewrite <- is in decided.
    destruct (Z.eqb_spec (number nu t) 0) as [zero | other]; subst b; simpl in said; congruence.
  - intros among [| [| d ds] [t |]] b speaks nu mu same; simpl; auto.
    assert (number nu t = number mu t) as ->; [| auto]. symmetry.
    apply (speaks {| sizes := []; item := number nu t |} nu mu same). simpl. auto.
  - intros sigma nu F o states vs v extended _ wholes meant computed. now apply rules_are_sound with sigma vs.
  - intros known o x _ other. reflexivity.
  - intros nu F a v b taken meant decided. split; eauto.
  - intros nu F h a m c k taken meant [below _] trip_now. split; [exact taken |].
    intros t ->. destruct meant as [_ is]. simpl in is. rewrite trip_now, is. exact below.
  - intros nu before F a yes no v b w _ _ _ _ whole_result meant. exists (fill nu w 0). split; [apply fill_is_chosen |].
    apply (@kept_by_fill nu _ _ w 0 whole_result) in meant. unfold join, anyhow.
    destruct yes as [| ds d]; [now repeat split |]. destruct no as [| es e]; [now repeat split |].
    destruct (Nat.eqb_spec (length ds) (length es)) as [same |]; [| now repeat split].
    split; [split; [| reflexivity] | repeat split]. apply joined_means; auto using axes_of_fill.
    destruct b; [left | right]; apply meant.
  - intros nu before F h a b v _ whole_a meant. exists (fill nu v 0). split; [apply fill_is_chosen |].
    apply (@kept_by_fill nu _ _ v 0 whole_a) in meant. unfold at_head.
    destruct a as [| ds d]; [now repeat split |]. destruct b as [| es e]; [now repeat split |].
    destruct (Nat.eqb_spec (length ds) (length es)) as [same |]; [| now repeat split].
    destruct meant as [meant _].
    split; [now apply own_axes_mean | split; [split; [exact I |] | reflexivity]].
    split; [simpl; lia | split; [intros _; now apply axes_are_numbers | simpl; lia]].
  - intros nu before F h a b v trip _ trip_now whole_b meant. set (k := Z.of_nat (S trip)). exists (fill nu v k).
  split; [apply fill_is_chosen |].
    apply (@kept_by_fill nu _ _ v k whole_b) in meant. unfold at_head.
    destruct a as [| ds d]; [now repeat split |]. destruct b as [| es e]; [now repeat split |].
    destruct (Nat.eqb_spec (length ds) (length es)) as [same |]; [| now repeat split].
    destruct meant as [meant _]. split; [| split; [split; [exact I |] | reflexivity]].
    { unfold own_axes. rewrite same. now apply own_axes_mean. }
    split; [simpl; lia | split; [simpl; lia |]]. intros _.
    apply other_symbols with (fill nu v k); [| now apply axes_are_numbers].
    intros x _. unfold earlier. destruct (symbol_eq x (Own h Trip)) as [-> |]; [| reflexivity].
    change (nu (Own h Trip) = k - 1). unfold k. lia.
  - intros nu before F p s m c v scanned w _ trip_now whole_m meant_m began _ whole_v meant _ _ ->.
    exists (fill nu v (Z.of_nat (length scanned))). split; [apply fill_is_chosen |].
    apply (@kept_by_fill nu _ _ v (Z.of_nat (length scanned)) whole_v) in meant. unfold at_exit.
    destruct (s (head p)) as [| ds d]; [now repeat split |]. destruct meant as [meant _].
    split; [now apply own_axes_mean | split; [split; [exact I |] | reflexivity]].
    split; [simpl; lia | split].
    + intros t is inside. rewrite is in *. simpl.
      apply (@kept_by_fill nu _ _ v (Z.of_nat (length scanned)) whole_m) in meant_m. destruct meant_m as [_ ->].
      destruct (length scanned) as [| k]; [simpl; lia |]. destruct (began k) as [c' [below _]]; lia.
    + apply other_symbols with (fill nu v (Z.of_nat (length scanned))); [| now apply axes_are_numbers].
      intros x _. unfold at_last. destruct (symbol_eq x (Own (head p) Trip)) as [-> |]; [exact trip_now | reflexivity].
Qed.
