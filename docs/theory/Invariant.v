(** What is true at each point of a run: one valuation for each scope that is open, each extending the one around it.
    docs/theory.md, "One theorem". Soundness.v draws the conclusions. *)

From Coq Require Import List ZArith Lia.
Import ListNotations.
From Absint Require Import Programs Memo Analysis.

Set Implicit Arguments.

Section Invariant.
  Variables input node tag operator value : Type.
  Variables trip trips : tag.
  Variable node_eq : forall n m : node, {n = m} + {n <> m}.
  Variable D : domain input node tag value.
  Variable T : table operator D.
  Variable M : semantics operator value (binding input).
  Variable depth : node -> nat.
  Variable needed : node -> Prop.
  Variable program : block node operator.

  Notation numbers := (valuation input node tag).
  Definition names_of (e : env node value) := map fst e.
  Definition outcome_is sigma e := reaches M sigma needed program (finished operator e).

  Inductive leads sigma : config node operator value -> config node operator value -> Prop :=
  | leads_here c : leads sigma c c
  | leads_on c c' c'' : step M sigma needed c c' -> leads sigma c' c'' -> leads sigma c c''.

  (** Names of the main graph are distinct, so a run fixes one value for each. *)
  Fixpoint names (b : block node operator) :=
    match b with
    | Done => []
    | Then s rest => name s :: names rest
    end.
  Fixpoint remaining todo (K : list (frame node operator value)) :=
    match K with
    | [] => todo
    | Within s rest _ _ :: K => remaining (names (Then s rest)) K
    end.
  Definition still (c : control node operator value) := match c with Running b => names b | AtHead _ => [] end.

  Definition main_of (c : config node operator value) := main_graph (snd (fst c)) (snd c).

  Lemma main_graph_is_in_order sigma c :
    reaches M sigma needed program c ->
    rev (names_of (main_of c)) ++ remaining (still (fst (fst c))) (snd c) = names program.
  Proof.
    induction 1 as [| c c' _ IH move]; [reflexivity |]. rewrite <- IH. unfold main_of.
    destruct move; destruct K as [| [s' rest' outer' place'] [| f K]]; simpl;
      rewrite <- ?app_assoc; reflexivity.
  Qed.

  Lemma main_graph_grows sigma c c' : step M sigma needed c c' -> incl (main_of c) (main_of c').
  Proof.
    unfold main_of. destruct 1; destruct K as [| [s' rest' outer' place'] K]; simpl;
      auto using incl_refl, incl_tl.
  Qed.

  Lemma main_graph_grows_on sigma c c' : leads sigma c c' -> incl (main_of c) (main_of c').
  Proof. induction 1; eauto using incl_refl, incl_tran, main_graph_grows. Qed.

  Section Checked.
    Variable A : analysis T.
    Hypothesis sound : sound_table trip trips T M.
    Variable q : facts T -> list node -> nat -> statement node operator -> Prop.
    Hypothesis checks : forall F before level s, q F before level s -> checked_here A depth F before level s.
    Hypothesis all : everywhere M A q (granted A) [] 0 program.

    Variable sigma : binding input.
    Variable final : env node value.
    Hypothesis final_is_one : forall n v w, In (n, Some v) final -> In (n, Some w) final -> v = w.
    Hypothesis final_is_main : forall n v, In (n, Some v) final -> depth n = 0.

    Notation state_of := (solution A).
    Notation says_at n := (fun nu v => means D nu (state_of n) v).

    Definition spoken before :=
      forall n, In n before ->
        (forall v, speaks_of (known before) (fun nu => means D nu (state_of n) v)) /\
        speaks_of (known before) (stated (summary_at A n)).

    Definition good (e : env node value) nu := fixed D sigma final nu /\ covers A nu e /\ spoken (names_of e).

    Definition pending whole first e todo nu :=
      forall p, collected trips A needed first whole p ->
        collected trips A needed (names_of e) todo p \/ speaks_of (known (names_of e)) p /\ p nu.

    Definition scope nu F whole first level e todo :=
      good e nu /\ assumed T F nu /\ about T (names_of e) F /\
      everywhere M A q F (names_of e) level todo /\ pending whole first e todo nu.

    Definition trips_began (outer : env node value) p m entered (scanned : list value) :=
      In (limit p, Some m) outer /\
      forall i, i < (if entered : bool then 1 else 0) + length scanned -> exists c, enters M m c i.

    Inductive around : valuation input node tag -> env node value -> list (frame node operator value) ->
        facts T -> block node operator -> list node -> nat -> Prop :=
    | around_main nu e : around nu e [] (granted A) program [] 0
    | around_branch nu e n c yes y no z rest outer (b : bool) K v nu0 F whole first level :
        scope nu0 F whole first level outer (Then (If n c yes y no z) rest) ->
        around nu0 outer K F whole first level ->
        agree (known (names_of outer)) nu nu0 -> incl (names_of outer) (names_of e) ->
        In (c, Some v) outer -> decides M v b ->
        around nu e (Within (If n c yes y no z) rest outer (Branch b) :: K)
          (given T F (state_of c) b) (if b then yes else no) (names_of outer) (S level)
    | around_loop nu e n p body rest outer m entered scanned K nu0 F whole first level :
        scope nu0 F whole first level outer (Then (Loop n p body) rest) ->
        around nu0 outer K F whole first level ->
        agree (known (names_of outer)) nu nu0 -> incl (names_of outer) (names_of e) ->
        In (head p) (names_of e) -> nu (Own (head p) trip) = Z.of_nat (length scanned) ->
        (forall i x, nth_error scanned i = Some x -> exists mu, agree (known (names_of outer)) nu0 mu /\
          mu (Own (head p) trip) = Z.of_nat i /\ means D mu (state_of (scan p)) x) ->
        (scanned <> [] -> forall s, collected trips A needed (head p :: names_of outer) body s ->
          speaks_of (known (names_of outer)) s -> s nu0) ->
        trips_began outer p m entered scanned ->
        around nu e (Within (Loop n p body) rest outer (Trip m entered scanned) :: K)
          (in_trip T (head p) F (state_of (limit p))) body (head p :: names_of outer) (S level).

    Definition condition_from nu (K : list (frame node operator value)) c :=
      match K with
      | Within (Loop _ p _) _ outer (Trip _ _ scanned) :: _ =>
          exists mu, agree (known (names_of outer)) nu mu /\
            means D mu (state_of (match scanned with [] => Programs.first p | _ => go p end)) c
      | _ => True
      end.

    Definition holds (c : config node operator value) :=
      let '(control, e, K) := c in
      exists nu F whole first level, around nu e K F whole first level /\
        match control with
        | Running todo => scope nu F whole first level e todo
        | AtHead c => good e nu /\ first = names_of e /\ condition_from nu K c
        end.

    Lemma agree_more before more (nu mu : numbers) :
      incl before more -> agree (known more) nu mu -> agree (known before) nu mu.
    Proof. intros within same [x | n t | t] inside; apply same; simpl in *; auto. Qed.

    Lemma agree_back among (nu mu : numbers) : agree among nu mu -> agree among mu nu.
    Proof. intros same s inside. symmetry. now apply same. Qed.

    Lemma agree_on among (nu mu xi : numbers) :
      agree among nu mu -> agree among mu xi -> agree among nu xi.
    Proof. intros one two s inside. rewrite one; auto. Qed.

    Lemma speaks_more before more (p : numbers -> Prop) :
      incl before more -> speaks_of (known before) p -> speaks_of (known more) p.
    Proof. intros within speaks nu mu same. apply speaks. eapply agree_more; eauto. Qed.

    Lemma around_moves nu e K F whole first level mu e' :
      around nu e K F whole first level -> agree (known (names_of e)) nu mu -> incl (names_of e) (names_of e') ->
      around mu e' K F whole first level.
    Proof.
      intros is_around same grows. inversion is_around; subst.
      - constructor.
      - eapply around_branch; eauto using incl_tran, agree_on, agree_back, agree_more.
      - eapply around_loop; eauto using incl_tran, agree_on, agree_back, agree_more.
        rewrite <- H4. symmetry. apply same. exact H3.
    Qed.

    Lemma summary_speaks F before n : accepts A F before n -> spoken before -> spoken (n :: before).
    Proof.
      intros (_ & _ & states & stored & _) old m [<- | inside].
      - split; [exact stored |]. intros nu mu same. unfold summary_at, filled_at, stated. simpl. apply states.
        intros [x | m t | t] inside; apply same; simpl in *; tauto.
      - destruct (old m inside) as [one two]. split; [intro v |]; apply speaks_more with before;
        auto using incl_tl, incl_refl.
    Qed.

    (** A node computes: its symbols get numbers, those of nodes before it keep theirs. *)
    Lemma node_is_covered F e n v nu0 nu such :
      good e nu0 -> assumed T F nu0 -> about T (names_of e) F -> accepts A F (names_of e) n ->
      (forall w, In (n, Some w) final -> w = v) ->
      agree (known (names_of e)) nu nu0 -> covers_result nu (found A n) v such ->
      exists mu, good ((n, Some v) :: e) mu /\ assumed T F mu /\ agree (known (names_of e)) nu0 mu /\
        exists xi, such xi /\ forall t, mu (Own n t) = xi (Hole t).
    Proof.
      intros (is_fixed & covered & speaks) taken is_about accepted only same (xi & (kept & named) & meant & says &
        holds).
      set (mu := fun s => match s with Own m t => if node_eq m n then xi (Hole t) else nu0 s | _ => nu0 s end).
      pose proof accepted as (new & out & states & stored & above).
      assert (old : agree (known (names_of e)) nu0 mu).
      { intros [x | m t | t] inside; simpl in *; auto. destruct (node_eq m n); congruence. }
      assert (fixed' : fixed D sigma final mu).
      { destruct is_fixed as [extended numbers]. split; [exact extended |].
        intros m w t k inside denoted. simpl. destruct (node_eq m n) as [-> |]; eauto.
        apply only in inside. subst w. auto. }
      assert (taken' : assumed T F mu) by (apply (is_about sigma final nu0 mu); auto).
      assert (own_holes : agree (fun s => known (names_of e) s \/ is_hole s) xi (fun s => mu (own n s))).
      { intros [x | m t | t] inside; simpl in *.
        - rewrite kept by (simpl; tauto). apply same. exact I.
        - destruct (node_eq m n) as [-> |]; [tauto |]. rewrite kept by (simpl; tauto). apply same. simpl. tauto.
        - destruct (node_eq n n); congruence. }
      assert (stated' : stated (summary_at A n) mu) by (apply (states _ _ own_holes says)).
      exists mu. split; [split; [exact fixed' | split] | split; [exact taken' | split; [exact old |]]].
      - intros m w [[= <- <-] | inside].
        + split; auto. apply above; auto. apply renamed. eapply out; eauto.
        + assert (visible : In m (names_of e)) by (apply (in_map fst) in inside; exact inside).
          destruct (covered m w inside), (speaks m visible) as [one two]. split; [eapply one | eapply two]; eauto.
      - eapply summary_speaks; eauto.
      - exists xi. split; auto. intro t. simpl. destruct (node_eq n n); congruence.
    Qed.

    Lemma one_more n o e : incl (names_of e) (names_of ((n, o) :: e)).
    Proof. apply incl_tl, incl_refl. Qed.

    Lemma left_out_is_covered F e n nu :
      good e nu -> accepts A F (names_of e) n -> good ((n, None) :: e) nu.
    Proof.
      intros (is_fixed & covered & speaks) accepted. split; [exact is_fixed | split].
      - intros m v [wrong | inside]; [discriminate | auto].
      - eapply summary_speaks; eauto.
    Qed.

    Lemma only_value nu e K F whole first level n v :
      around nu e K F whole first level -> depth n = level -> incl (main_graph ((n, Some v) :: e) K) final ->
      forall w, In (n, Some w) final -> w = v.
    Proof.
      intros is_around deep within w inside.
      inversion is_around; subst; try (apply final_is_main in inside; lia).
      apply final_is_one with n; auto. apply within. simpl. auto.
    Qed.

    Lemma scope_goes_on nu F whole first level e s rest o mu :
      scope nu F whole first level e (Then s rest) -> good ((name s, o) :: e) mu -> assumed T F mu ->
      agree (known (names_of e)) nu mu ->
      (forall p, collected trips A needed (names_of e) (Then s rest) p ->
        collected trips A needed (name s :: names_of e) rest p \/ speaks_of (known (name s :: names_of e)) p /\ p mu) ->
      scope mu F whole first level ((name s, o) :: e) rest.
    Proof.
      intros (_ & _ & is_about & (_ & _ & later) & settled) is_good taken same next.
      split; [exact is_good | split; [exact taken | split; [| split; [exact later |]]]].
      - intros sigma' e' nu' mu' one two same'. apply (is_about sigma' e'); auto.
        eapply agree_more; [apply (one_more (name s) o) | exact same'].
      - intros p inside. destruct (settled p inside) as [todo | [speaks holds]]; [now apply next |].
        right. split; [eapply speaks_more; [apply (one_more (name s) None) | exact speaks] |].
        now apply (speaks nu mu).
    Qed.

    Lemma stated_here nu F e n v :
      good ((n, Some v) :: e) nu -> accepts A F (names_of e) n ->
      speaks_of (known (n :: names_of e)) (stated (summary_at A n)) /\ stated (summary_at A n) nu.
    Proof.
      intros (_ & covered & speaks) _. split; [apply (speaks n); simpl; auto |].
      apply (covered n v). simpl. auto.
    Qed.

    Lemma values_are_meant e nu reads vs :
      covers A nu e -> Forall2 (fun m w => In (m, Some w) e) reads vs -> Forall2 (means D nu) (map state_of reads) vs.
    Proof. intros covered here. induction here; simpl; constructor; auto. now apply covered. Qed.

    Lemma stored_is_whole before n : spoken before -> In n before -> whole D (state_of n).
    Proof.
      intros speaks inside v nu mu same. apply (proj1 (speaks n inside)).
      intros [x | m t | t] known_here; [apply same; simpl; auto .. | contradiction].
    Qed.

    Lemma value_is_whole e nu n v : good e nu -> In (n, Some v) e -> whole D (state_of n).
    Proof.
      intros (_ & _ & speaks) inside. apply stored_is_whole with (names_of e); [exact speaks |].
      apply (in_map fst) in inside. exact inside.
    Qed.

    Lemma guard_speaks before n (p : numbers -> Prop) b :
      spoken before -> In n before -> speaks_of (known before) p ->
      speaks_of (known before) (fun nu => says D nu (state_of n) b -> p nu).
    Proof.
      intros speaks inside about_p nu mu same holds said. apply (about_p nu mu same), holds.
      apply (says_of_its_symbols sound _ _ (proj1 (speaks n inside))) with mu; auto using agree_back.
    Qed.

    Definition left_by outer (nu0 nu : numbers) e := agree (known (names_of outer)) nu nu0 /\
      incl (names_of outer) (names_of e).

    Lemma around_a_branch nu e n c yes y no z rest outer b K F' whole' first' level' :
      around nu e (Within (If n c yes y no z) rest outer (Branch b) :: K) F' whole' first' level' ->
      exists nu0 F whole first level v,
        scope nu0 F whole first level outer (Then (If n c yes y no z) rest) /\
        around nu0 outer K F whole first level /\ left_by outer nu0 nu e /\
        In (c, Some v) outer /\ decides M v b /\
        F' = given T F (state_of c) b /\ whole' = (if b then yes else no) /\ first' = names_of outer /\
          level' = S level.
    Proof. intro is_around. inversion is_around; subst. do 6 eexists. unfold left_by. intuition eauto. Qed.

    Definition scans_are_meant (nu0 : numbers) outer p scanned :=
      forall i x, nth_error scanned i = Some x -> exists mu, agree (known (names_of outer)) nu0 mu /\
        mu (Own (head p) trip) = Z.of_nat i /\ means D mu (state_of (scan p)) x.
    Definition trips_have_settled (nu0 : numbers) outer p body (scanned : list value) :=
      scanned <> [] -> forall s, collected trips A needed (head p :: names_of outer) body s ->
      speaks_of (known (names_of outer)) s -> s nu0.

    Lemma around_a_loop nu e n p body rest outer m entered scanned K F' whole' first' level' :
      around nu e (Within (Loop n p body) rest outer (Trip m entered scanned) :: K) F' whole' first' level' ->
      exists nu0 F whole first level,
        scope nu0 F whole first level outer (Then (Loop n p body) rest) /\
        around nu0 outer K F whole first level /\ left_by outer nu0 nu e /\ In (head p) (names_of e) /\
        nu (Own (head p) trip) = Z.of_nat (length scanned) /\
        scans_are_meant nu0 outer p scanned /\ trips_have_settled nu0 outer p body scanned /\ trips_began outer p m
            entered scanned /\
        F' = in_trip T (head p) F (state_of (limit p)) /\ whole' = body /\
        first' = head p :: names_of outer /\ level' = S level.
    Proof. intro is_around. inversion is_around; subst. do 5 eexists. unfold left_by. intuition eauto. Qed.

    Lemma collected_of_if before n c yes y no z rest p :
      collected trips A needed before (Then (If n c yes y no z) rest) p ->
      p = stated (summary_at A n) \/ collected trips A needed (n :: before) rest p \/
      exists (b : bool) s, collected trips A needed before (if b then yes else no) s /\ speaks_of (known before) s /\
        p = fun nu => says D nu (state_of c) b -> s nu.
    Proof. intro inside. inversion inside; subst; eauto 8. Qed.

    Lemma collected_of_loop before n q' body rest p :
      collected trips A needed before (Then (Loop n q' body) rest) p ->
      p = stated (summary_at A n) \/ collected trips A needed (n :: before) rest p \/
      exists s, collected trips A needed (head q' :: before) body s /\ speaks_of (known before) s /\
        p = fun nu => (1 <= nu (Own n trips))%Z -> s nu.
    Proof. intro inside. inversion inside; subst; eauto 8. Qed.

    Lemma step_keeps c c' : holds c -> step M sigma needed c c' -> incl (main_of c') final -> holds c'.
    Proof.
      intros held move within. destruct move; destruct held as (nu & F & whole & first' & level & is_around & held).
      - (* an operator *)
        pose proof held as (is_good & taken & is_about & (here & _ & _) & _).
        apply checks in here. destruct here as (deep & accepted & is_within & is_found).
        apply memo_gives_what_the_rule_gives in is_found; [| apply (looks_are_told sound)].
        destruct (@node_is_covered F e n v nu nu (@anyhow _ _ _)) as (mu & good' & taken' & same & _); auto.
        { eapply only_value; eauto. }
        { intros s _. reflexivity. }
        { rewrite is_found. eapply (rule_is_sound sound); eauto.
          + apply is_good.
          + apply Forall_forall. intros a is_read. apply in_map_iff in is_read. destruct is_read as (m & <- & is_read).
            apply stored_is_whole with (names_of e); [apply is_good | auto].
          + eapply values_are_meant; eauto. apply is_good. }
        exists mu, F, whole, first', level. split.
        { eapply around_moves; eauto using one_more. }
        apply (scope_goes_on held good' taken' same). intros p inside.
        inversion inside; subst; auto. right. eapply stated_here; eauto.
      - (* left out *)
        pose proof held as (is_good & taken & is_about & (here & _ & _) & _).
        apply checks in here. destruct here as (deep & accepted & _).
        exists nu, F, whole, first', level. split.
        { eapply around_moves; eauto using one_more. intros x _. reflexivity. }
        apply (scope_goes_on (o := None) held); auto.
        { eapply left_out_is_covered; eauto. }
        { intros x _. reflexivity. }
        intros p inside. inversion inside; subst; simpl in *; auto; contradiction.
      - (* into a branch *)
        pose proof held as (is_good & taken' & is_about & (here & (branch_yes & branch_no) & _) & _).
        assert (meant : means D nu (state_of c) v) by (apply is_good; auto).
        assert (reached : taken_under M A F c taken).
        { exists sigma, nu, v. repeat split; auto. apply is_good. }
        exists nu, (given T F (state_of c) taken), (if taken then yes else no), (names_of e), (S level).
        split.
        { eapply around_branch; eauto; [intros x _; reflexivity | apply incl_refl]. }
        split; [exact is_good | split; [eapply (given_holds sound); eauto |]].
        split; [destruct taken; [apply branch_yes | apply branch_no]; exact reached |].
        split; [destruct taken; [apply branch_yes | apply branch_no]; exact reached |].
        intros p inside. auto.
      - (* out of a branch *)
        apply around_a_branch in is_around.
        destruct is_around as (nu0 & F0 & whole0 & first0 & level0 & vc & was & is_around & left & inside_v & is &
          -> & -> & -> & ->).
        destruct left as [same grown], held as (is_good & _ & _ & _ & settled).
        pose proof was as (good0 & taken0 & about0 & (here & _ & _) & _).
        apply checks in here. destruct here as (deep & accepted & inside_c & is_found).
        assert (meant_c : means D nu (state_of c) vc).
        { apply (proj1 (proj2 (proj2 good0) c inside_c)) with nu0; [now apply agree_back | now apply good0]. }
        assert (taken' : assumed T F0 nu).
        { apply (about0 sigma final nu0 nu); [apply good0 | apply is_good | now apply agree_back | exact taken0]. }
        destruct (@node_is_covered F0 outer n v nu0 nu (@anyhow _ _ _)) as (mu & good' & taken1 & same' & _); auto.
        { eapply only_value; eauto. }
        { rewrite is_found. apply (join_is_sound sound) with vc taken; auto.
          + apply (value_is_whole _ _ good0 inside_v).
          + destruct taken; apply (value_is_whole _ _ is_good H).
          + destruct taken; now apply is_good. }
        exists mu, F0, whole0, first0, level0. split; [eapply around_moves; eauto using one_more |].
        apply (scope_goes_on was good' taken1 same'). intros p inside.
        destruct (collected_of_if inside) as [-> | [later | (b & s & of_b & about_s & ->)]]; [right | auto | right].
        { eapply stated_here; eauto. }
        split; [eapply speaks_more; [apply (one_more n None) | now apply guard_speaks; try apply good0] |].
        intro said. destruct (Bool.bool_dec b taken) as [-> | other].
        + destruct (settled s of_b) as [none | [_ holds]]; [inversion none |].
          assert (holds0 : s nu0) by (apply (about_s nu nu0); auto). now apply (about_s nu0 mu).
        + exfalso. destruct good' as (_ & covered' & _).
          apply (says_what_decides sound mu (state_of c) vc taken).
          * apply (covered' c vc). simpl. auto.
          * exact is.
          * now replace (negb taken) with b by (destruct b, taken; simpl; congruence).
      - (* to the head of a loop *)
        pose proof held as (is_good & taken & is_about & (here & _ & _) & _).
        apply checks in here. destruct here as (_ & _ & within_e & deep & accepted & is_found & _).
        destruct (@node_is_covered F e (head p) v nu nu (fun mu => mu (Hole trip) = 0%Z))
          as (mu & good' & taken' & same & xi & first_trip & own_xi); auto.
        { intros w inside. apply final_is_main in inside. lia. }
        { intros s _. reflexivity. }
        { rewrite is_found. apply (head_starts_soundly sound); auto;
          [apply (value_is_whole _ _ is_good H0) | now apply is_good]. }
        exists mu, (in_trip T (head p) F (state_of (limit p))), body, (head p :: names_of e), (S level).
        split; [| split; [exact good' | split; [reflexivity |]]].
        + eapply around_loop; eauto using one_more, agree_back.
          * simpl. auto.
          * rewrite own_xi, first_trip. reflexivity.
          * intros [|] x wrong; discriminate.
          * congruence.
          * split; [assumption | simpl; intros; lia].
        + simpl. exists mu. split; [intros x _; reflexivity |].
          destruct good' as (_ & covered & _). apply covered. simpl. auto.
      - (* into the body *)
        destruct held as (is_good & -> & _). apply around_a_loop in is_around.
        destruct is_around as (nu0 & F0 & whole0 & first0 & level0 & was & is_around & [same grown] & at_h &
          trip_now & scans & trips_did & (limited & began) & -> & -> & first_is & ->).
        pose proof was as (good0 & taken0 & about0 & (here & (about_body & checked_body) & _) & _).
        apply checks in here. destruct here as (_ & _ & within_e & _).
        exists nu, (in_trip T (head p) F0 (state_of (limit p))), body, (head p :: names_of outer), (S level0).
        split.
        { eapply around_loop; eauto. split; [exact limited |]. simpl. intros i small.
          destruct (Nat.eq_dec i (length scanned)) as [-> | other]; [eauto | apply began; simpl; lia]. }
        split; [exact is_good |].
        assert (meant : means D nu (state_of (limit p)) m).
        { assert (inside : In (limit p) (names_of outer)) by (apply (in_map fst) in limited; exact limited).
          apply (proj1 (proj2 (proj2 good0) _ inside)) with nu0; [now apply agree_back | now apply good0]. }
        split; [| rewrite first_is; split; [exact about_body | split; [exact checked_body |]]].
        + apply (in_trip_holds sound) with m c (length scanned); auto.
          apply (about0 sigma final nu0 nu); [apply good0 | apply is_good | now apply agree_back | exact taken0].
        + intros s inside. left. now rewrite first_is.
      - (* back to the head *)
        destruct held as (is_good & _ & _ & _ & settled). apply around_a_loop in is_around.
        destruct is_around as (nu0 & F0 & whole0 & first0 & level0 & was & is_around & [same grown] & at_h &
          trip_now & scans & trips_did & (limited & began) & -> & -> & -> & ->).
        pose proof was as (good0 & taken0 & about0 & (here & _ & _) & _).
        apply checks in here. destruct here as (_ & _ & within_e & deep & accepted & is_found & _).
        assert (taken1 : assumed T F0 nu).
        { apply (about0 sigma final nu0 nu); [apply good0 | apply is_good | now apply agree_back | exact taken0]. }
        destruct (@node_is_covered F0 outer (head p) v nu0 nu (fun mu => mu (Hole trip) = Z.of_nat (S (length
          scanned))))
          as (mu & good' & taken' & same' & xi & next_trip & own_xi); auto.
        { intros w inside. apply final_is_main in inside. lia. }
        { rewrite is_found. apply (head_goes_on_soundly sound); auto;
          [apply (value_is_whole _ _ is_good H) | now apply is_good]. }
        exists mu, (in_trip T (head p) F0 (state_of (limit p))), body, (head p :: names_of outer), (S level0).
        split; [| split; [exact good' | split; [reflexivity |]]].
        + eapply around_loop; eauto using one_more, agree_back.
          * simpl. auto.
          * rewrite own_xi, next_trip, app_length. simpl. lia.
          * intros i x here. destruct (Nat.lt_ge_cases i (length scanned)) as [old | new].
            { rewrite nth_error_app1 in here by exact old. auto. }
            rewrite nth_error_app2 in here by exact new.
            destruct (i - length scanned) as [| k] eqn:is_last; [| destruct k; discriminate]. injection here as <-.
            exists nu. split; [now apply agree_back | split; [rewrite trip_now; f_equal; lia | now apply is_good]].
          * intros _ p0 inside speaks. destruct (settled p0 inside) as [none | [_ holds]]; [inversion none |].
            now apply (speaks nu nu0).
          * split; [exact limited |]. rewrite app_length. simpl. intros i small. apply began. simpl. lia.
        + simpl. exists nu. split; [apply agree_on with nu0; auto using agree_back |].
          replace (match scanned ++ [s] with [] => Programs.first p | _ => go p end) with (go p)
            by (destruct scanned; reflexivity).
          now apply is_good.
      - (* out of the loop *)
        destruct held as (is_good & _ & condition). apply around_a_loop in is_around.
        destruct is_around as (nu0 & F0 & whole0 & first0 & level0 & was & is_around & [same grown] & at_h &
          trip_now & scans & trips_did & (limited & began) & -> & -> & -> & ->).
        pose proof was as (good0 & taken0 & about0 & (here & _ & _) & _).
        apply checks in here. destruct here as (deep & accepted & within_e & _ & _ & _ & is_found).
        assert (taken1 : assumed T F0 nu).
        { apply (about0 sigma final nu0 nu); [apply good0 | apply is_good | now apply agree_back | exact taken0]. }
        assert (meant : means D nu (state_of (limit p)) m).
        { assert (inside : In (limit p) (names_of outer)) by (apply (in_map fst) in limited; exact limited).
          apply (proj1 (proj2 (proj2 good0) _ inside)) with nu0; [now apply agree_back | now apply good0]. }
        destruct (@node_is_covered F0 outer n w nu0 nu (fun mu => mu (Hole trips) = Z.of_nat (length scanned)))
          as (mu & good' & taken' & same' & xi & all_trips & own_xi); auto.
        { eapply only_value; eauto. }
        { rewrite is_found. eapply (exit_is_sound sound); eauto.
          + apply (value_is_whole _ _ good0 limited).
          + apply (value_is_whole _ _ is_good H0).
          + now apply is_good.
          + intros i x inside. destruct (scans i x inside) as (xi & agreed & is_i & meant_x).
            exists xi. split; auto. apply agree_on with nu0; auto. }
        exists mu, F0, whole0, first0, level0. split; [eapply around_moves; eauto using one_more |].
        apply (scope_goes_on was good' taken' same'). intros p0 inside.
        destruct (collected_of_loop inside) as [-> | [later | (s & of_body & about_s & ->)]]; [right | auto | right].
        { eapply stated_here; eauto. }
        split.
        + intros one two agreed holds enough. apply (about_s one two); [eapply agree_more;
          [apply (one_more n None) | exact agreed] |].
          apply holds. rewrite (agreed (Own n trips)); simpl; auto.
        + intro enough. rewrite own_xi, all_trips in enough.
          apply (about_s nu0 mu); auto. apply trips_did; auto. intros ->. simpl in enough. lia.
    Qed.

    Hypothesis about_start : about T [] (granted A).
    Hypothesis taken_at_start : forall nu, fixed D sigma final nu -> assumed T (granted A) nu.

    Fixpoint value_of n (e : env node value) :=
      match e with
      | [] => None
      | (m, o) :: e => if node_eq m n then match o with Some v => Some v | None => value_of n e end else value_of n e
      end.

    Definition at_first : numbers := fun s =>
      match s with
      | Input x => sigma x
      | Own n t => match value_of n final with
                   | Some v => match denotes D t v with Some k => k | None => 0%Z end
                   | None => 0%Z
                   end
      | Hole _ => 0%Z
      end.

    Lemma value_is_found n v e : In (n, Some v) e -> exists w, value_of n e = Some w /\ In (n, Some w) e.
    Proof.
      induction e as [| [m o] e IH]; simpl; [contradiction |]. intros inside.
      destruct (node_eq m n) as [-> | other].
      - destruct o as [w |]; [eauto |]. destruct inside as [wrong | inside]; [discriminate |].
        destruct (IH inside) as (w & is & found). eauto.
      - destruct inside as [wrong | inside]; [congruence |]. destruct (IH inside) as (w & is & found). eauto.
    Qed.

    Lemma fixed_at_first : fixed D sigma final at_first.
    Proof.
      split; [intro x; reflexivity |]. intros n v t k inside denoted. simpl.
      destruct (value_is_found _ _ _ inside) as (w & -> & found).
      rewrite (final_is_one _ _ _ found inside), denoted. reflexivity.
    Qed.

    Lemma run_holds c : reaches M sigma needed program c -> incl (main_of c) final -> holds c.
    Proof.
      induction 1 as [| c c' _ IH move]; intro within.
      - exists at_first, (granted A), program, [], 0. split; [constructor |].
        split; [split; [apply fixed_at_first | split; intros n; contradiction] |].
        split; [apply taken_at_start, fixed_at_first |]. split; [exact about_start | split; [exact all |]].
        intros p inside. auto.
      - apply step_keeps with c; auto. apply IH. eapply incl_tran; [eapply main_graph_grows; eauto | exact within].
    Qed.

    Lemma around_is_covered nu e K F whole first level :
      around nu e K F whole first level -> covers_around A nu K.
    Proof.
      induction 1 as [| nu e n c yes y no z rest outer b K v nu0 F whole first level was _ IH same
        | nu e n p body rest outer m entered scanned K nu0 F whole first level was _ IH same]; simpl; auto;
        exists nu0; (split; [exact same | split; [apply was | exact IH]]).
    Qed.

    Lemma claims_of_a_point c : holds c -> claims_hold A sigma c.
    Proof.
      destruct c as [[control e] K]. intros (nu & F & whole & first & level & is_around & held).
      exists nu. simpl. assert (is_good : good e nu) by (destruct control; apply held).
      destruct is_good as ((extended & _) & covered & _).
      split; [exact extended | split; [exact covered |]]. eapply around_is_covered; eauto.
    Qed.

    Lemma claims_of_an_outcome e :
      holds (finished operator e) ->
      exists nu, fixed D sigma final nu /\ assumed T (granted A) nu /\ covers A nu e /\
        constraints trips A needed program nu.
    Proof.
      intros (nu & F & whole & first & level & is_around & held). inversion is_around; subst.
      destruct held as ((is_fixed & covered & _) & taken & _ & _ & settled).
      exists nu. split; [exact is_fixed | split; [exact taken | split; [exact covered |]]].
      intros p inside. destruct (settled p inside) as [none | [_ holds]]; [inversion none | exact holds].
    Qed.
  End Checked.
End Invariant.
